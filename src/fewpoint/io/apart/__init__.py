"""Files are decoded in a process apart, which can do nothing but read them and answer.

calls      call a function of fewpoint.io there: what it may open, how much it may take, and what its end means
forker     starts and asks that one process; free of numpy
zygote     that process itself: started once, it has the libraries loaded, and forks one process per file
pulse      signs of life of a reading that takes long
confine    what such a process may do: limits, Landlock and seccomp
plain      values on their way: plain ones, arrays, and a few nouns; nothing that could run code
"""
