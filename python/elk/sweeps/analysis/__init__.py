"""What a sweep's results say: pictures, Pareto fronts, ratios, sensitivities."""
