"""What starts a run and stops it: an exported app, keys, processes, a SuperLink, its nodes."""
