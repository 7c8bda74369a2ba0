"""Training: models on clusters and tiled accelerators, in pipelines of stages."""
