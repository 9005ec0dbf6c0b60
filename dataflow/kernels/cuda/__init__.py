"""What only a GPU needs: CUDA C for fused chains and updates, copies on their own stream, memory."""
