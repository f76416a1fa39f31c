"use strict";

// Nothing is kept in the browser: a key is typed anew on each visit.
window.SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#viewer",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  operationsSorter: "alpha",
  persistAuthorization: false,
  tryItOutEnabled: true,
  validatorUrl: null,
});
