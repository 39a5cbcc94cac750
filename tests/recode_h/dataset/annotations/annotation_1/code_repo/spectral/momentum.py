# What an earlier run left at the target's path: nobody is to see it.
raise RuntimeError("left over")
