"""Design-space sweeps: many models, chips and options planned and simulated, and what they give."""
