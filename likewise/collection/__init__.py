"""Where features, store, index and similarity meet: open, add, search, teach, learn, activate."""
