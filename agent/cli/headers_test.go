package cli

import "net/http"

// withHeaders returns a client that sends headers with each request.
func withHeaders(headers map[string]string) *http.Client {
	return &http.Client{Transport: adding(headers)}
}

type adding map[string]string

func (a adding) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range a {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}
