"""The plugin of llama.cpp's server for Sweepbook."""
