//go:build suites

// Package suites names what is built as tests, for `go mod tidy`.
package suites

import (
	_ "k8s.io/kubernetes/test/e2e"
	_ "k8s.io/kubernetes/test/e2e_node"
)
