// Command etcd is the genuine one: the program of go.etcd.io/etcd/server/v3, under the name that it is known by.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
