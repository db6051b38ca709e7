//! Files of a project with one credential each.

use super::settings::{keys, settings};
use super::{Draw, SecretCase};

/// One file for each kind of credential, drawn with `seed`.
pub fn real(seed: u64) -> Vec<SecretCase> {
    let mut cases = clouds(&mut Draw::new(seed));
    cases.extend(forges(&mut Draw::new(seed + 1)));
    cases.extend(models(&mut Draw::new(seed + 2)));
    cases.extend(services(&mut Draw::new(seed + 3)));
    cases.extend(keys(&mut Draw::new(seed + 4)));
    cases.extend(settings(&mut Draw::new(seed + 5)));
    cases
}

fn clouds(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::real;
    vec![
        case(
            "aws access key",
            "src/upload.py",
            "import boto3\n\nclient = boto3.client(\n    \"s3\",\n    aws_access_key_id=\"§\",\n    region_name=\"eu-west-1\",\n)\n",
            format!("{}{}", "AKIA", draw.base32(16)),
        ),
        case(
            "aws temporary key",
            "logs/deploy.log",
            "2026-05-02T10:11:12Z INFO assumed role deploy, key § expires 2026-05-02T11:11:12Z\n",
            format!("{}{}", "ASIA", draw.base32(16)),
        ),
        case(
            "aws secret key",
            "config/credentials",
            "[default]\nregion = eu-west-1\naws_secret_access_key = §\noutput = json\n",
            draw.base64(40),
        ),
        case(
            "aws secret key in terraform",
            "infra/provider.tf",
            "provider \"aws\" {\n  region     = \"us-east-1\"\n  secret_key = \"§\"\n}\n",
            draw.base64(40),
        ),
        case(
            "azure storage key",
            "appsettings.json",
            "{\n  \"ConnectionStrings\": {\n    \"Storage\": \"DefaultEndpointsProtocol=https;AccountName=files;AccountKey=§;EndpointSuffix=core.windows.net\"\n  }\n}\n",
            format!("{}==", draw.base64(86)),
        ),
        case(
            "azure client secret",
            "deploy/login.sh",
            "#!/bin/sh\nset -eu\nexport ARM_TENANT_ID=contoso\nexport ARM_CLIENT_SECRET=§\naz login --service-principal\n",
            format!("{}8Q~{}", draw.alnum(3), draw.url(34)),
        ),
        case(
            "azure sas",
            "scripts/fetch.sh",
            "curl -fsSLO 'https://files.blob.core.windows.net/drop/app.tgz?sv=2024-11-04&ss=b&srt=co&sp=rl&se=2027-01-01T00:00:00Z&spr=https&sig=§%3D'\n",
            draw.alnum(43),
        ),
        case(
            "azure service bus",
            "worker/local.settings.json",
            "{\n  \"Values\": {\n    \"BUS\": \"Endpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=§\"\n  }\n}\n",
            format!("{}=", draw.base64(43)),
        ),
        case(
            "azure sql",
            "Web.config",
            "<connectionStrings>\n  <add name=\"Main\" connectionString=\"Server=tcp:db.database.windows.net;User ID=app;Password=§;Encrypt=true\" />\n</connectionStrings>\n",
            draw.chosen(),
        ),
        case(
            "gcp api key",
            "android/strings.xml",
            "<resources>\n  <string name=\"app_name\">Maps</string>\n  <string name=\"google_maps\">§</string>\n</resources>\n",
            format!("{}{}", "AIza", draw.alnum(35)),
        ),
        case(
            "gcp service account",
            "keys/deployer.json",
            "{\n  \"type\": \"service_account\",\n  \"project_id\": \"shop\",\n  \"private_key\": \"§\\n\",\n  \"client_email\": \"deployer@shop.iam.gserviceaccount.com\"\n}\n",
            format!(
                "-----BEGIN {0} KEY-----\\nMII{1}\\n{2}\\n{3}\\n-----END {0} KEY-----",
                "PRIVATE",
                draw.base64(61),
                draw.base64(64),
                draw.base64(64)
            ),
        ),
        case(
            "google oauth secret",
            "client_secret.json",
            "{\"installed\":{\"client_id\":\"1234-web.apps.googleusercontent.com\",\"client_secret\":\"§\",\"redirect_uris\":[\"http://localhost\"]}}\n",
            format!("{}{}", "GOCSPX-", draw.url(28)),
        ),
        case(
            "digitalocean token",
            "terraform.tfvars",
            "region   = \"fra1\"\ndo_token = \"§\"\n",
            format!("{}{}", "dop_v1_", draw.hex(64)),
        ),
        case("heroku key", ".envrc", "export HEROKU_APP=shop\nexport HEROKU_API_KEY=§\n", draw.uuid()),
        case(
            "heroku token",
            "ci/release.yml",
            "release:\n  script:\n    - HEROKU=§ git push heroku main\n",
            format!("{}{}", "HRKU-AA", draw.url(58)),
        ),
        case(
            "terraform cloud token",
            "terraform.rc",
            "credentials \"app.terraform.io\" {\n  token = \"§\"\n}\n",
            format!("{}.{}.{}", draw.alnum(14), "atlasv1", draw.alnum(67)),
        ),
        case(
            "databricks token",
            "notebooks/run.py",
            "from databricks import sql\nconnection = sql.connect(server_hostname=HOST, access_token='§')\n",
            format!("{}{}", "dapi", draw.hex(32)),
        ),
        case(
            "vault token",
            "docs/runbook.md",
            "Log in first:\n\n```sh\nvault login §\n```\n\nThen read the lease.\n",
            format!("{}{}", "hvs.", draw.url(95)),
        ),
    ]
}

fn forges(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::real;
    vec![
        case(
            "github classic token",
            ".github/workflows/ci.yml",
            "jobs:\n  build:\n    env:\n      GH: §\n    runs-on: ubuntu-latest\n",
            format!("{}{}", "ghp_", draw.alnum(36)),
        ),
        case(
            "github oauth token",
            "src/api.ts",
            "const headers = { authorization: `token §`, accept: \"application/json\" };\n",
            format!("{}{}", "gho_", draw.alnum(36)),
        ),
        case(
            "github user token",
            "notes.txt",
            "device flow gave me § which works until friday\n",
            format!("{}{}", "ghu_", draw.alnum(36)),
        ),
        case(
            "github app token",
            "build.log",
            "remote: fetching with x-access-token:§\n",
            format!("{}{}", "ghs_", draw.alnum(36)),
        ),
        case(
            "github refresh token",
            "state.json",
            "{\"installation\": 41, \"refresh\": \"§\"}\n",
            format!("{}{}", "ghr_", draw.alnum(36)),
        ),
        case(
            "github fine-grained token",
            "fix.patch",
            "--- a/env\n+++ b/env\n@@ -1 +1,2 @@\n A=1\n+GITHUB=§\n",
            format!("{}{}_{}", "github_pat_", draw.alnum(22), draw.alnum(59)),
        ),
        case(
            "github token in an address",
            ".gitmodules",
            "[submodule \"lib\"]\n\tpath = lib\n\turl = https://§@github.com/acme/lib.git\n",
            format!("{}{}", "ghp_", draw.alnum(36)),
        ),
        case(
            "gitlab token",
            ".gitlab-ci.yml",
            "deploy:\n  script:\n    - curl --header \"PRIVATE-TOKEN: §\" \"$CI_API_V4_URL/projects\"\n",
            format!("{}{}", "glpat-", draw.url(20)),
        ),
        case(
            "gitlab runner token",
            "config.toml",
            "[[runners]]\n  name = \"shell\"\n  token = \"§\"\n  executor = \"shell\"\n",
            format!("{}{}", "glrt-", draw.url(20)),
        ),
        case(
            "npm token",
            ".npmrc",
            "registry=https://registry.npmjs.org/\n//registry.npmjs.org/:_authToken=§\n",
            format!("{}{}", "npm_", draw.alnum(36)),
        ),
        case(
            "pypi token",
            ".pypirc",
            "[pypi]\nusername = __token__\npassword = §\n",
            format!("{}{}", "pypi-AgEIcHlwaS5vcmc", draw.url(150)),
        ),
        case(
            "crates.io token",
            "credentials.toml",
            "[registry]\ntoken = \"§\"\n",
            format!("{}{}", "cio", draw.alnum(32)),
        ),
        case(
            "docker token",
            "ci/push.sh",
            "echo § | docker login --username acme --password-stdin\n",
            format!("{}{}", "dckr_pat_", draw.url(27)),
        ),
        case(
            "sourcegraph token",
            "src-cli.env",
            "SRC_ENDPOINT=https://sourcegraph.acme.dev\nSRC_ACCESS_TOKEN=§\n",
            format!("{}{}_{}", "sgp_", draw.hex(16), draw.hex(40)),
        ),
        case(
            "postman key",
            "collections/run.sh",
            "newman run api.json --postman-api-key §\n",
            format!("{}{}-{}", "PMAK-", draw.hex(24), draw.hex(34)),
        ),
        case(
            "linear key",
            "bin/issues.rb",
            "LINEAR = { 'Authorization' => '§' }.freeze\n",
            format!("{}{}", "lin_api_", draw.alnum(40)),
        ),
        case(
            "notion key",
            "sync.js",
            "const notion = new Client({ auth: \"§\" });\n",
            format!("{}{}{}", "ntn_", draw.digits(11), draw.alnum(35)),
        ),
    ]
}

fn models(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::real;
    vec![
        case(
            "anthropic key",
            ".env",
            "NODE_ENV=production\nANTHROPIC_API_KEY=§\nPORT=3000\n",
            format!("{}{}AA", "sk-ant-api03-", draw.url(93)),
        ),
        case(
            "anthropic admin key",
            "admin.http",
            "GET /v1/organizations/users\nx-api-key: §\n",
            format!("{}{}AA", "sk-ant-admin01-", draw.url(93)),
        ),
        case(
            "openai key",
            "chat.py",
            "import openai\n\nopenai.api_key = '§'\n",
            format!("{}{}{}{}", "sk-", draw.alnum(20), "T3BlbkFJ", draw.alnum(20)),
        ),
        case(
            "openai project key",
            "docker-compose.yml",
            "services:\n  app:\n    environment:\n      - OPENAI_API_KEY=§\n      - LOG_LEVEL=info\n",
            format!("{}{}{}{}", "sk-proj-", draw.url(74), "T3BlbkFJ", draw.url(74)),
        ),
        case(
            "huggingface token",
            "train.ipynb",
            "{\"source\": [\"login(token=\\\"§\\\")\\n\"], \"outputs\": []}\n",
            format!("{}{}", "hf_", draw.letters(34)),
        ),
        case(
            "amp key",
            "agents/env.sh",
            "export AMP_API_KEY='§'\n",
            format!("{}user_{}_{}", "sgamp_", draw.base32(26), draw.hex(64)),
        ),
        case(
            "groq key",
            "app/llm.go",
            "package llm\n\nconst key = \"§\"\n",
            format!("{}{}", "gsk_", draw.alnum(52)),
        ),
    ]
}

fn services(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::real;
    vec![
        case(
            "slack bot token",
            "bot.py",
            "app = App(token=\"§\", name=\"deploy bot\")\n",
            format!("{}{}-{}-{}", "xoxb-", draw.digits(12), draw.digits(13), draw.alnum(24)),
        ),
        case(
            "slack app token",
            "values.yaml",
            "slack:\n  enabled: true\n  app: \"§\"\n",
            format!("{}1-A{}-{}-{}", "xapp-", draw.base32(10), draw.digits(13), draw.hex(64)),
        ),
        case(
            "slack webhook",
            "notify.sh",
            "curl -X POST -d '{\"text\":\"done\"}' §\n",
            format!(
                "https://{}{}/B{}/{}",
                "hooks.slack.com/services/T",
                draw.base32(8),
                draw.base32(10),
                draw.alnum(24)
            ),
        ),
        case(
            "stripe key",
            "billing.php",
            "<?php\n\\Stripe\\Stripe::setApiKey('§');\n",
            format!("{}{}", "sk_live_", draw.alnum(24)),
        ),
        case(
            "stripe restricted key",
            "billing.rb",
            "Stripe.api_key = \"§\"\n",
            format!("{}{}", "rk_live_", draw.alnum(99)),
        ),
        case(
            "twilio key",
            "sms.js",
            "const twilio = require('twilio')('AC-of-shop', { key: '§' });\n",
            format!("{}{}", "SK", draw.hex(32)),
        ),
        case("twilio auth token", "sms.env", "TWILIO_ACCOUNT=shop\nTWILIO_AUTH_TOKEN=§\n", draw.hex(32)),
        case(
            "sendgrid key",
            "mail/Mailer.java",
            "class Mailer {\n    private static final String KEY = \"§\";\n}\n",
            format!("SG.{}.{}", draw.url(22), draw.url(43)),
        ),
        case("mailgun key", "mail.rb", "Mailgun::Client.new '§'\n", format!("{}{}", "key-", draw.hex(32))),
        case(
            "shopify token",
            "shop.py",
            "session = shopify.Session(url, '2026-01', '§')\n",
            format!("{}{}", "shpat_", draw.hex(32)),
        ),
        case(
            "square token",
            "pay.kt",
            "val client = SquareClient.Builder().accessToken(\"§\").build()\n",
            format!("{}{}", "sq0atp-", draw.url(22)),
        ),
        case(
            "telegram token",
            "telegram.py",
            "TELEGRAM_TOKEN = \"§\"\nbot = Bot(TELEGRAM_TOKEN)\n",
            format!("{}:AA{}", draw.digits(10), draw.url(33)),
        ),
        case(
            "telegram address",
            "alert.sh",
            "curl \"https://api.telegram.org/bot§/sendMessage?chat_id=7&text=down\"\n",
            format!("{}:AA{}", draw.digits(10), draw.url(33)),
        ),
        case(
            "discord token",
            "bot.mjs",
            "await client.login(\"§\");\n",
            format!("MT{}.{}.{}", draw.alnum(24), draw.alnum(6), draw.url(38)),
        ),
        case(
            "discord webhook",
            "hooks.toml",
            "[alerts]\nurl = \"§\"\n",
            format!("https://discord.com/api/webhooks/{}/{}", draw.digits(18), draw.url(68)),
        ),
        case(
            "grafana token",
            "grafana.yml",
            "datasources:\n  - url: https://grafana.acme.dev\n    bearer: §\n",
            format!("{}{}_{}", "glsa_", draw.alnum(32), draw.hex(8)),
        ),
        case(
            "new relic key",
            "newrelic.tf",
            "provider \"newrelic\" {\n  account_id = 12\n  api_key    = \"§\"\n}\n",
            format!("{}{}", "NRAK-", draw.base32(27)),
        ),
        case(
            "datadog key",
            "agent/datadog.yaml",
            "site: datadoghq.eu\ndatadog_api_key: §\nlogs_enabled: true\n",
            draw.hex(32),
        ),
        case(
            "jwt",
            "curl.log",
            "> GET /me HTTP/2\n> cookie: session=§; theme=dark\n",
            format!("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ{}.{}", draw.alnum(60), draw.url(43)),
        ),
    ]
}
