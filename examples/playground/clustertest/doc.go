// Package clustertest holds the promises of applier/cluster, kept against a real
// API server, real controllers and simulated nodes.
package clustertest
