"""How networks are trained with PyTorch: one loop, its checkpoints, optimisers, rates and seeds."""
