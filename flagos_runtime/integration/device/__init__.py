"""The flagos device: a PrivateUse1 backend in Python over host memory, and its module `torch.flagos`."""
