package cluster

import (
	"context"
	"fmt"
	"time"
)

const (
	controllerManager = "kube-controller-manager"
	administrators    = "system:masters"
	serviceRange      = "10.96.0.0/16"
	serviceAddress    = "10.96.0.1"
)

// startControlPlane starts the four processes, each when the one it needs is
// healthy, and connects as the administrator.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	ports, err := freePorts()
	if err != nil {
		return err
	}
	c.ports = ports
	kubeconfig, err := c.AddUser("admin", administrators)
	if err != nil {
		return err
	}
	if err := c.connect(kubeconfig); err != nil {
		return err
	}
	// The API server waits for etcd by itself, so both may start at once.
	etcd, err := c.launch("etcd", c.etcdFlags())
	if err != nil {
		return err
	}
	apiserver, err := c.launch("kube-apiserver", c.apiserverFlags())
	if err != nil {
		return err
	}
	if err := c.waitUntilServing(ctx, etcd, apiserver); err != nil {
		return err
	}
	scheduler, err := c.launch("kube-scheduler", c.schedulerFlags())
	if err != nil {
		return err
	}
	controllers, err := c.startControllerManager(ctx)
	if err != nil {
		return err
	}
	c.processes = append(c.processes, controllers)
	return waitUntilHealthy(ctx, scheduler, c.ports.url(c.ports.scheduler))
}

// launch starts a program and remembers it for Stop.
func (c *Cluster) launch(name string, flags []string) (*process, error) {
	process, err := startProcess(name, c.programs.Path(name), flags, c.path("log/"+name+".log"))
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, process)
	return process, nil
}

func (c *Cluster) startControllerManager(ctx context.Context) (*process, error) {
	process, err := startProcess(controllerManager, c.programs.Path(controllerManager), c.controllerFlags(), c.path("log/"+controllerManager+".log"))
	if err != nil {
		return nil, err
	}
	if err := waitUntilHealthy(ctx, process, c.ports.url(c.ports.controllers)); err != nil {
		return nil, fmt.Errorf("%w (stopped: %v)", err, process.stop())
	}
	return process, nil
}

func (c *Cluster) etcdFlags() []string {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", c.ports.etcd), fmt.Sprintf("http://127.0.0.1:%d", c.ports.peer)
	return []string{
		"--name=playground",
		"--data-dir=" + c.path("etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=playground=" + peer,
		"--unsafe-no-fsync", // what is lost with the machine was only a playground
	}
}

func (c *Cluster) apiserverFlags() []string {
	return []string{
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.ports.etcd),
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.ports.apiserver),
		"--tls-cert-file=" + c.path("pki/apiserver.crt"),
		"--tls-private-key-file=" + c.path("pki/apiserver.key"),
		"--client-ca-file=" + c.AuthorityFile(),
		"--kubelet-client-certificate=" + c.path("pki/kubelet.crt"),
		"--kubelet-client-key=" + c.path("pki/kubelet.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-key-file=" + c.path("pki/token.key"),
		"--service-account-signing-key-file=" + c.path("pki/token.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=" + serviceRange,
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--endpoint-reconciler-type=none",
		// Hundreds of parallel writers are what the benchmarks are about.
		"--max-requests-inflight=4000",
		"--max-mutating-requests-inflight=2000",
		"--shutdown-delay-duration=0s",
	}
}

func (c *Cluster) schedulerFlags() []string {
	return append(c.clientFlags(c.ports.scheduler), "--kube-api-qps=1000", "--kube-api-burst=2000")
}

func (c *Cluster) controllerFlags() []string {
	return append(c.clientFlags(c.ports.controllers),
		"--kube-api-qps=1000", "--kube-api-burst=2000",
		"--service-account-private-key-file="+c.path("pki/token.key"),
		"--root-ca-file="+c.AuthorityFile(),
		"--node-monitor-period="+(c.nodeGrace/10).Round(time.Millisecond).String(),
		"--node-monitor-grace-period="+c.nodeGrace.String(),
	)
}

// clientFlags are those of a process that works through the API server.
func (c *Cluster) clientFlags(port int) []string {
	return []string{
		"--kubeconfig=" + c.kubeconfig,
		"--leader-elect=false",
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + c.path("pki"),
	}
}
