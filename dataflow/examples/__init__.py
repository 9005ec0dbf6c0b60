"""``tensorflow.examples``: what course code imports from there."""
