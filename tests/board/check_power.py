def check(b): pass
