import tensorflow as tf
p="/tmp/opstests/gf.txt"
open(p,"wb").write(b"one\r\nb\rc\nd\r")
print([l for l in tf.io.gfile.GFile(p)])
print([l for l in tf.io.gfile.GFile(p, "rb")])
print(repr(tf.io.gfile.GFile(p, "r").read()))
f=tf.io.gfile.GFile(p); print(f.read(2), f.readline(), f.tell())
