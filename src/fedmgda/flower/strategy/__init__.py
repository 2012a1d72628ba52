"""Any rule as a strategy of Flower, for the server of somebody's own Flower app."""
