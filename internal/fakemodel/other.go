package fakemodel

import (
	"net/http"
	"strings"
)

// other answers further requests: lists of models, token counts.
func other(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/count_tokens"):
		respond(w, http.StatusOK, object{"input_tokens": 1000})
	case strings.HasSuffix(path, ":countTokens"):
		respond(w, http.StatusOK, object{"totalTokens": 1000})
	case strings.HasSuffix(path, "/v1beta/models"):
		respond(w, http.StatusOK, object{"models": []any{geminiModel("fake-model")}})
	case strings.Contains(path, "/v1beta/models/"):
		_, name, _ := strings.Cut(path, "/models/")
		respond(w, http.StatusOK, geminiModel(name))
	case strings.HasSuffix(path, "/models"):
		// Codex looks for its own list under models; it treats an empty one as none.
		respond(w, http.StatusOK, object{"object": "list", "data": []any{model("fake-model")}, "has_more": false, "models": []any{}})
	case strings.Contains(path, "/models/"):
		_, name, _ := strings.Cut(path, "/models/")
		respond(w, http.StatusOK, model(name))
	default:
		respond(w, http.StatusNotFound, object{"error": object{"type": "not_found_error", "code": http.StatusNotFound, "message": "there is nothing at " + path}})
	}
}

// model combines the descriptions of a model by Anthropic and OpenAI.
func model(name string) object {
	return object{"id": name, "type": "model", "object": "model", "display_name": name,
		"created": 1, "created_at": "2026-01-01T00:00:00Z", "owned_by": "fake"}
}

func geminiModel(name string) object {
	return object{"name": "models/" + name, "displayName": name, "inputTokenLimit": 1000000, "outputTokenLimit": 8192,
		"supportedGenerationMethods": []any{"generateContent", "countTokens"}}
}
