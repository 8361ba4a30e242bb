package chaos

// onceBad are scripts that once broke a promise, or are shaped like one. They are
// played first, each time: the chances may change, and with them what a seed draws.
var onceBad = []script{
	{seed: 1675502450, kind: "DaemonSet", steps: []step{
		{1, "settle", 1, 0}, {2, "images", 1, 4}, {3, "quick", 1, 5}, {4, "revert", 2, 3},
		{5, "kill-after", 3, 0}, {6, "env", 1, 4}, {7, "config", 1, 4}, {8, "cpu", 1, 6},
	}},
	{seed: 11187087, kind: "DaemonSet", manner: manner{revert: true, restart: true}, steps: []step{
		{5, "missing", 1, 3}, {6, "kill-before", 3, 2}, {8, "lose-answer", 2, 2}, {9, "env", 1, 4}, {10, "git-out", 4, 0},
	}},
	{kind: "DaemonSet", manner: manner{revert: true}, steps: []step{{1, "image-app", 1, 3}, {2, "crash", 1, 12}, {3, "image-app", 1, 2}}},
	newPodsThenPatches("Deployment"),
	newPodsThenPatches("StatefulSet"),
	newPodsThenPatches("DaemonSet"),
}

// newPodsThenPatches: while the controller rolls for one commit, others come that
// could be patched into the pods that it has just made.
func newPodsThenPatches(kind string) script {
	return script{kind: kind, steps: []step{
		{1, "env", 1, 1}, {2, "image-app", 1, 0}, {3, "settle", 1, 0},
		{4, "env", 1, 1}, {5, "config", 1, 1}, {6, "env", 1, 2}, {7, "images", 1, 1},
	}}
}
