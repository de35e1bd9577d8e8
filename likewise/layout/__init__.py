"""Where pictures stand: 2-D board, sorted grid, collection map."""
