"""
x
=
"""
print(1)
