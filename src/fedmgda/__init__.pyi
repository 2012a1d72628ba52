# The public names and where they live: read by type checkers, and by `lazy_package` at run time.

from fedmgda._errors import (
    DataError as DataError,
    FederationStalledError as FederationStalledError,
    FedmgdaError as FedmgdaError,
    LockedError as LockedError,
    MissingDependencyError as MissingDependencyError,
    SpecError as SpecError,
    StoreError as StoreError,
    ZeroUpdateError as ZeroUpdateError,
)
from fedmgda.attacks import (
    Attack as Attack,
    under_attack as under_attack,
)
from fedmgda.clients import (
    ClientPool as ClientPool,
    LocalTraining as LocalTraining,
)
from fedmgda.data import (
    FederatedData as FederatedData,
    dirichlet_partition as dirichlet_partition,
    federate as federate,
    iid_partition as iid_partition,
    label_quantity_partition as label_quantity_partition,
    natural_partition as natural_partition,
    quantity_skew_partition as quantity_skew_partition,
    shard_partition as shard_partition,
)
from fedmgda.experiments import (
    Audit as Audit,
    ClientResult as ClientResult,
    EvaluationRow as EvaluationRow,
    Finding as Finding,
    History as History,
    RoundRow as RoundRow,
    Run as Run,
    Summary as Summary,
    Training as Training,
    open_run as open_run,
    train as train,
    verify as verify,
)
from fedmgda.federation import (
    Constant as Constant,
    Federation as Federation,
    Harmonic as Harmonic,
    MedianNorm as MedianNorm,
    PaperDecay as PaperDecay,
    RoundRecord as RoundRecord,
    ServerState as ServerState,
    UniformSampler as UniformSampler,
    initial_state as initial_state,
    run_round as run_round,
    simulate as simulate,
)
from fedmgda.metrics import (
    Fairness as Fairness,
    fairness as fairness,
    improved_participants as improved_participants,
    pareto_residual as pareto_residual,
)
from fedmgda.minnorm import (
    ConeSolution as ConeSolution,
    MinNormSolution as MinNormSolution,
    gramian as gramian,
    min_norm as min_norm,
    min_norm_constrained as min_norm_constrained,
    nearest_in_cone as nearest_in_cone,
)
from fedmgda.rules import (
    AFL as AFL,
    Constraint as Constraint,
    FedAvg as FedAvg,
    FedMGDA as FedMGDA,
    QFedAvg as QFedAvg,
    Rule as Rule,
    make_rule as make_rule,
)
from fedmgda.values import (
    Aggregate as Aggregate,
    Annealed as Annealed,
    Clients as Clients,
    Cohort as Cohort,
    DenseUpdates as DenseUpdates,
    Evaluation as Evaluation,
    Failure as Failure,
    FileUpdates as FileUpdates,
    Updates as Updates,
    Weighing as Weighing,
    aggregate as aggregate,
)

__version__: str
