//go:build data

package main

// Keeps the module in go.mod whose files data.txt names.
import _ "istio.io/api/label"
