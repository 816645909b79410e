"""What FlagGems needs to serve a device that it does not know, and Triton's interpreter to run its kernels there."""
