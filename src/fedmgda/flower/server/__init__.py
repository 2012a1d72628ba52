"""The ServerApp's side: nodes are met, asked and believed as far as they can be."""
