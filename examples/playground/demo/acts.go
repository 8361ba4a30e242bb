package demo

// act is one commit of the demo.
type act struct {
	title    string
	tells    string // what the person is about to see
	message  string // of the commit
	edit     edit   // REGISTRY stands for the registry's name
	workload string // the value of the label app of the pods to look at
	explains string // what can be seen in the result
}

// acts are the commits, in their order.
var acts = []act{
	{
		title: "a new image",
		tells: `The shop's front door, the Deployment web, gets version 2 of its application.
Kubernetes by itself would replace all four pods.`,
		message:  "web: app v2",
		edit:     edit{"web.yaml", "image: REGISTRY/app:v1", "image: REGISTRY/app:v2"},
		workload: "web",
		explains: `Only the container app was restarted, one pod at a time, because the manifest
allows a quarter of the pods to be away. The sidecar beside it went on.`,
	},
	{
		title:   "an annotation that nothing reads",
		tells:   `A label or annotation of the pods costs nothing: it is patched.`,
		message: "web: name the team",
		edit: edit{"web.yaml", "        app-config: plain\n",
			"        app-config: plain\n        team: checkout\n"},
		workload: "web",
		explains: `No container noticed.`,
	},
	{
		title: "an annotation that a container reads",
		tells: `APP_CONFIG, an environment variable of app, takes its value from the annotation
app-config. A container reads its environment when it starts, so app has to be
restarted; its pod does not.`,
		message:  "web: a festive shop",
		edit:     edit{"web.yaml", "app-config: plain", "app-config: festive"},
		workload: "web",
		explains: `The image is the same one, called by its digest now: a kubelet restarts a
container in place when the name of its image changes, and only then.`,
	},
	{
		title: "an environment variable",
		tells: `The value of APP_GREETING is written in the pod's own spec, which Kubernetes
lets nobody change in a running pod. The plan says so before anything happens,
and names the field.`,
		message:  "web: say hello",
		edit:     edit{"web.yaml", "value: welcome", "value: hello"},
		workload: "web",
		explains: `New pods, made by the Deployment's own rolling update: what Kubernetes does best
is left to it.`,
	},
	{
		title: "another workload",
		tells: `The cache is a StatefulSet whose memory is expensive to fill again. Each of its
pods has a name and a number, and an update begins at the highest.`,
		message:  "cache: app v2",
		edit:     edit{"cache.yaml", "image: REGISTRY/app:v1", "image: REGISTRY/app:v2"},
		workload: "cache",
		explains: `The StatefulSet's controller finds every pod on its newest revision and has
nothing left to do.`,
	},
}
