// Remembers what a person says, and recalls it. Needs a running server and a service key:
//   npm install && remembrancer openapi > openapi.json
//   npm run types && npm run check && npm start
import createClient from "openapi-fetch";
import type { paths } from "./remembrancer.js";

const memory = createClient<paths>({
  baseUrl: process.env.REMEMBRANCER_URL ?? "http://127.0.0.1:8420",
  headers: { Authorization: `Bearer ${process.env.REMEMBRANCER_KEY ?? ""}` },
});

const { data: ada, error } = await memory.POST("/api/users/resolve", {
  body: { platform: "discord", platform_user_id: "1844", display_name: "Ada" },
});
if (ada === undefined) throw new Error(error.detail);

const { data: remembered } = await memory.POST("/api/memory", {
  body: { content: "Ada prefers tea over coffee.", user_id: ada.id },
});
console.log(remembered?.outcome);

const { data: answer } = await memory.POST("/api/memory/recall", {
  body: { query: "What does Ada like to drink?", user_id: "discord:1844" },
});
for (const hit of answer?.hits ?? []) {
  console.log(hit.score.toFixed(3), hit.content);
}
