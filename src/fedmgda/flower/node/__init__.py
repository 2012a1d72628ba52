"""The node's side: its data, its clients, its resident worker, and how they answer."""
