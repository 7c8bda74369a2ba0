"""What people look at: cards, explanations, plots, timelines, traces."""
