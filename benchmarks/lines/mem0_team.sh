# The steps of examples/team.sh with mem0's server: a clone of its repository, and Docker.
set -euo pipefail

cd mem0/server
echo "OPENAI_API_KEY=$OPENAI_API_KEY" >> .env
echo "JWT_SECRET=$(openssl rand -base64 48)" >> .env
echo "POSTGRES_PASSWORD=$POSTGRES_PASSWORD" >> .env
make bootstrap EMAIL=admin@example.org PASSWORD="$PASSWORD"

url=http://127.0.0.1:8888
login="{\"email\": \"admin@example.org\", \"password\": \"$PASSWORD\"}"
token=$(curl -s $url/auth/login --json "$login" | jq -r .access_token)
auth="Authorization: Bearer $token"

bot=$(curl -s $url/api-keys -H "$auth" --json '{"label": "discord bot"}')
jq -r .key <<< "$bot" > bot.key

curl -s $url/memories -H "X-API-Key: $(cat bot.key)" \
  --json '{"messages": [{"role": "user", "content": "I drink tea, never coffee."}], "user_id": "ada"}'

docker compose exec postgres pg_dump -U postgres postgres > memories.sql
docker compose exec postgres pg_dump -U postgres mem0_app > app.sql
cp -r history history.backup
psql "$ELSEWHERE" < memories.sql
psql "$ELSEWHERE_APP" < app.sql
curl -s "$ELSEWHERE_URL/search" -H "X-API-Key: $(cat bot.key)" \
  --json '{"query": "What does Ada drink?", "filters": {"user_id": "ada"}}'

curl -s $url/api-keys -H "$auth" --json '{"label": "discord bot"}' | jq -r .key > bot.key
curl -s -X DELETE "$url/api-keys/$(jq -r .id <<< "$bot")" -H "$auth"
curl -s $url/api-keys -H "$auth"

curl -s "$url/memories?user_id=ada" -H "X-API-Key: $(cat bot.key)" > ada.json
curl -s -X DELETE "$url/memories?user_id=ada" -H "X-API-Key: $(cat bot.key)"
