package registry

// Missing is a tag no image has: a pull of it fails with "not found".
const Missing = "missing"

// Pause is the image of every pod's sandbox.
const Pause = Name + "/pause:v1"

// catalogue is every image the registry has. Two tags with the same version are
// the same image, digest for digest.
var catalogue = []struct{ image, tag, version string }{
	{"app", "v1", "v1"},
	{"app", "v1-alias", "v1"},
	{"app", "v2", "v2"},
	{"app", "v3", "v3"},
	{"sidecar", "v1", "v1"},
	{"sidecar", "v2", "v2"},
	{private + "app", "v1", "v1"},
	{private + "app", "v2", "v2"},
	{"pause", "v1", "v1"},
}
