"""Machine code made while a program runs: loops over elements, rows and windows, in LLVM's language."""
