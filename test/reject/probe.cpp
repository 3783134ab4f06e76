// test/reject/probe.cpp — compiled like every reject; its command line is what the harness runs.
