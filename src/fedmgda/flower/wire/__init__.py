"""What crosses: messages between server and nodes, what may leave a node, how a run ended."""
