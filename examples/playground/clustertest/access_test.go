package clustertest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	situ "situ.gitops/applier/cluster"
	"situ.gitops/planner"
)

func TestAUserWithoutRightsIsToldWhichHeNeeds(t *testing.T) {
	kubeconfig, err := ground.AddUser("nobody")
	if err != nil {
		t.Fatal(err)
	}
	r := newRoomFor(t, kubeconfig)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	commit := r.commit(deployment(1, "app:v1"), settings)
	_, err = r.Snapshot(ctx, commit)
	if err == nil {
		t.Fatal("Snapshot without rights = nil; want an error")
	}
	wantText(t, "Snapshot", err.Error(), "deployments.apps in "+r.namespace, "nobody", "forbidden", "grant the verbs get, list and watch on configmaps")
	if ctx.Err() != nil {
		t.Error("Snapshot without rights hung")
	}
}

func TestAUserWhoMayOnlyReadGetsRefusals(t *testing.T) {
	kubeconfig, err := ground.AddUser("reader")
	if err != nil {
		t.Fatal(err)
	}
	r := newRoomFor(t, kubeconfig)
	grant(t, r.namespace, "reader", "view")
	commit := r.commit(settings)
	var proof planner.Proof
	r.eventually("the role to be in force", func() bool {
		snapshot, err := r.Snapshot(t.Context(), commit)
		proof = snapshot.Proofs[commit.Manifests[0].Ref]
		return err == nil
	})
	wantText(t, "Refusal", proof.Refusal, "reader", "cannot patch resource", "configmaps")
	err = r.Do(t.Context(), planner.Action{Mode: planner.ServerSideApply, Ref: commit.Manifests[0].Ref, Body: commit.Manifests[0].Object})
	if err == nil {
		t.Fatal("Do without rights = nil; want an error")
	}
	wantText(t, "Do", err.Error(), "apply configmap/settings in "+r.namespace, "cannot patch resource")
}

// grant gives a user a role of Kubernetes' own in one namespace.
func grant(t *testing.T, namespace, user, role string) {
	t.Helper()
	if _, err := ground.Client().RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestTheAdminOfOneNamespaceNeedsNoMoreRights(t *testing.T) {
	kubeconfig, err := ground.AddUser("local-admin")
	if err != nil {
		t.Fatal(err)
	}
	r := newRoomFor(t, kubeconfig)
	grant(t, r.namespace, "local-admin", "admin")
	commit := r.commit(deployment(2, "app:v1"), settings)
	r.eventually("the role to be in force", func() bool {
		_, err := r.Snapshot(t.Context(), commit)
		return err == nil
	})
	r.apply(commit)
	r.podsOf(commit, 2)
	if images := r.snapshot(commit).Images; images != nil {
		t.Errorf("Images = %v for a user who may not list nodes", images)
	}
	before := r.Requests().Total()
	r.snapshot(commit)
	if sent := r.Requests().Total() - before; sent != 0 {
		t.Errorf("a settled round sent %d requests, want none: nodes are not asked for again and again", sent)
	}
}

func TestAKubeconfigThatIsNotThereIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nowhere")
	_, err := situ.New(t.Context(), situ.Options{Kubeconfig: file})
	if err == nil {
		t.Fatal("New = nil; want an error")
	}
	wantText(t, "New", err.Error(), file)
	_, err = situ.New(t.Context(), situ.Options{Kubeconfig: ground.Kubeconfig(), Context: "elsewhere"})
	if err == nil {
		t.Fatal("New = nil; want an error")
	}
	wantText(t, "New", err.Error(), ground.Kubeconfig(), `"elsewhere"`, "kubectl config get-contexts")
}

func TestAnAPIServerThatIsAwayIsAnErrorAndNoHang(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	writeFile(t, file, strings.ReplaceAll(readFile(t, ground.Kubeconfig()), ground.URL(), "https://127.0.0.1:1"))
	client, err := situ.New(t.Context(), situ.Options{Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Resolve(t.Context(), read(t, settings))
	if err == nil {
		t.Fatal("Resolve = nil; want an error")
	}
	wantText(t, "Resolve", err.Error(), "connection refused")
}

func TestNoSecretValueComesOutOfTheCluster(t *testing.T) {
	r := newRoom(t)
	const value = "correct-horse-battery"
	good := "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {password: " + value + "}"
	commit := r.commit(good)
	r.apply(commit)
	snapshot := r.snapshot(commit)
	ref := commit.Manifests[0].Ref
	live, proof := snapshot.Live[ref].Object.Object["data"].(map[string]any), snapshot.Proofs[ref].Object.Object["data"].(map[string]any)
	if live["password"] != proof["password"] || !strings.HasPrefix(live["password"].(string), "masked:") {
		t.Errorf("password: live %v, proof %v; want equal masks", live["password"], proof["password"])
	}
	changed := r.commit(strings.Replace(good, value, value+"-2", 1))
	after := r.snapshot(changed).Proofs[ref].Object.Object["data"].(map[string]any)
	if after["password"] == live["password"] {
		t.Error("a changed password has the same mask")
	}
	bad := []string{
		"apiVersion: v1\nkind: Secret\nmetadata: {name: key}\ndata: {password: '" + value + "!'}",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: other}\ntype: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: " + value + "}",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: third}\nstringData: {" + value + ": [" + value + "]}",
		strings.Replace(deployment(1, "app:v1"), "image: ", "env: [{name: A=B, value: "+value+"}, {name: C, value: ["+value+"]}], image: ", 1),
		strings.Replace(deployment(1, "app:v1"), "image: ", "env: [{name: '', value: "+value+"}], command: ["+value+"], imagePullPolicy: Sometimes, image: ", 1),
	}
	for _, document := range bad {
		commit := r.commit(document)
		proof := r.snapshot(commit).Proofs[commit.Manifests[0].Ref]
		t.Log(proof.Refusal)
		if proof.Refusal == "" {
			t.Errorf("%s was accepted; want a refusal", document)
		}
		if strings.Contains(strings.ReplaceAll(proof.Refusal, "stringData."+value, ""), value) {
			t.Errorf("the refusal shows the value: %s", proof.Refusal)
		}
		err := r.Do(t.Context(), planner.Action{Mode: planner.ServerSideApply, Ref: commit.Manifests[0].Ref, Body: commit.Manifests[0].Object})
		if err == nil || strings.Contains(strings.ReplaceAll(err.Error(), "stringData."+value, ""), value) {
			t.Errorf("Do = %v; want an error without the value", err)
		}
	}
}
