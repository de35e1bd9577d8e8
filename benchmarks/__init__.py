"""Speed and memory beside quality, against a peer, in one run."""
