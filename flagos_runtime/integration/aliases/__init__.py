"""What makes CUDA-named APIs mean the canonical device."""
