"""Just-in-time machine code: loops over elements, rows and windows, written in LLVM assembly."""
