// Command app is the playground's web application: it answers with the version
// its image carries, so that a rollout can be seen over HTTP.
//
//	GET /      the version, from the image and never from the pod
//	GET /env   the environment variables whose names start with APP_
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() { os.Exit(run()) }

func run() int {
	version, err := os.ReadFile("/version")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	server := &http.Server{Addr: ":" + port(), Handler: routes(strings.TrimSpace(string(version)))}
	go func() {
		<-ctx.Done()
		server.Close() // not Shutdown: a restart in place should cost milliseconds
	}()
	fmt.Printf("app %s listens on %s\n", strings.TrimSpace(string(version)), server.Addr)
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func port() string {
	if port := os.Getenv("PORT"); port != "" {
		return port
	}
	return "8080"
}

func routes(version string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, version)
	})
	mux.HandleFunc("GET /env", func(w http.ResponseWriter, _ *http.Request) {
		for _, variable := range environment() {
			fmt.Fprintln(w, variable)
		}
	})
	return mux
}

// environment leaves out every name but APP_*, so that nothing the node puts
// into the container is shown.
func environment() []string {
	variables := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return !strings.HasPrefix(variable, "APP_")
	})
	slices.Sort(variables)
	return variables
}
