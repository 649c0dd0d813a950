package load

import (
	"context"
	"net/http"
)

// keyOf is where a context holds the key of a server.
type keyOf struct{}

// WithKey has every request to a server under the context carry its API key, as a
// bearer token. It rides on the context alone, so that no plan, request of a
// benchmark or record can take it anywhere.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyOf{}, key)
}

// Authorize puts the key of a request's context into its header.
func Authorize(r *http.Request) {
	if key, ok := r.Context().Value(keyOf{}).(string); ok && key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
}
