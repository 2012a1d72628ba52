"""Digits on four nodes: a Flower app like many, with a rule of fedmgda on its server."""
