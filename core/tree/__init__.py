"""The counter tree as arithmetic: which nodes count a rank key. No I/O."""
