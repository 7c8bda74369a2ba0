"""What every room uses: quantities, words, files, waiting. It knows nothing of chips or models."""
