from fedmgda.flower.strategy._client_id import tell_client_id as tell_client_id
from fedmgda.flower.strategy._named import (
    AFL as AFL,
    FedAvg as FedAvg,
    FedAvgN as FedAvgN,
    FedMGDA as FedMGDA,
    FedMGDAPlus as FedMGDAPlus,
    QFedAvg as QFedAvg,
)
from fedmgda.flower.strategy._rule_strategy import RuleStrategy as RuleStrategy
