//! The second corpus: what the first one has in other surroundings, and what only looks like it.

use super::{Draw, SecretCase};

/// What the first corpus has, elsewhere.
pub(super) fn surroundings(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::real;
    vec![
        case(
            "systemd unit",
            "shop.service",
            "[Service]\nEnvironment=\"STRIPE_WEBHOOK_SECRET=§\"\nExecStart=/usr/bin/shop\n",
            draw.alnum(40),
        ),
        case(
            "helm values",
            "values.prod.yaml",
            "postgresql:\n  auth:\n    postgresPassword: §\n",
            draw.password(16),
        ),
        case(
            "maven settings",
            "settings.xml",
            "<server>\n  <id>nexus</id>\n  <username>ci</username>\n  <password>§</password>\n</server>\n",
            draw.password(14),
        ),
        case(
            "nuget config",
            "NuGet.Config",
            "<acme>\n  <add key=\"Username\" value=\"ci\" />\n  <add key=\"ClearTextPassword\" value=\"§\" />\n</acme>\n",
            draw.chosen(),
        ),
        case(
            "kubernetes secret",
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\ndata:\n  password: §\n",
            format!("{}=", draw.base64(31)),
        ),
        case(
            "c# string",
            "Startup.cs",
            "services.AddDbContext(o => o.UseSqlServer(\"Server=db;Database=shop;User Id=sa;Password=§;\"));\n",
            draw.chosen(),
        ),
        case(
            "jdbc address",
            "db.properties",
            "url=jdbc:mysql://db.acme.dev/shop?user=app&password=§&useSSL=true\n",
            draw.alnum(16),
        ),
        case(
            "powershell",
            "login.ps1",
            "$Password = ConvertTo-SecureString \"§\" -AsPlainText -Force\n",
            draw.password(16),
        ),
        case(
            "jenkins file",
            "Jenkinsfile",
            "withEnv(['SONAR_TOKEN=§']) {\n  sh 'make scan'\n}\n",
            draw.alnum(40),
        ),
        case(
            "ansible line",
            "hosts.ini",
            "db1 ansible_host=10.0.0.7 ansible_user=root ansible_password=§ ansible_port=22\n",
            draw.password(16),
        ),
        case("sshpass", "copy.sh", "sshpass -p '§' scp dump.sql root@db:/tmp/\n", draw.password(14)),
        case("mysql command", "dump.sh", "mysqldump -u root -p§ shop > dump.sql\n", draw.alnum(14)),
        case(
            "wget command",
            "get.sh",
            "wget --user=ci --password=§ https://files.acme.dev/a.tgz\n",
            draw.alnum(16),
        ),
        case(
            "terraform state",
            "terraform.tfstate",
            "          \"attributes\": {\n            \"master_password\": \"§\",\n            \"port\": 5432\n",
            draw.password(20),
        ),
        case(
            "escaped json",
            "request.log",
            "body=\"{\\\"client_secret\\\":\\\"§\\\",\\\"grant\\\":\\\"x\\\"}\"\n",
            draw.alnum(40),
        ),
        case(
            "query of a log",
            "access.log",
            "10.0.0.1 - - \"GET /v1/me?api_key=§&page=2 HTTP/1.1\" 200\n",
            draw.alnum(32),
        ),
        case("carriage returns", "win.env", "HOST=x\r\nDB_PASSWORD=§\r\nPORT=1\r\n", draw.password(16)),
        case(
            "elixir",
            "config/prod.exs",
            "config :shop, Shop.Endpoint,\n  secret_key_base: \"§\"\n",
            draw.base64(64),
        ),
        case("swift", "Keys.swift", "static let apiKey: String = \"§\"\n", draw.alnum(32)),
        case("objective-c", "Keys.m", "NSString *const kApiSecret = @\"§\";\n", draw.alnum(32)),
        case("c macro", "wifi.h", "#define WIFI_PASSWORD \"§\"\n", draw.chosen()),
        case("kotlin", "Api.kt", "private const val CLIENT_SECRET = \"§\"\n", draw.alnum(40)),
        case("sql", "users.sql", "CREATE USER app WITH PASSWORD '§';\n", draw.password(16)),
        case("mysql grant", "grant.sql", "CREATE USER 'app'@'%' IDENTIFIED BY '§';\n", draw.password(16)),
        case(
            "csv of keys",
            "rootkey.csv",
            "Access key ID,Secret access key\r\n§,x\r\n",
            format!("{}{}", "AKIA", draw.base32(16)),
        ),
        case(
            "python arguments",
            "conn.py",
            "conn = psycopg2.connect(host='db', user='app', password='§')\n",
            draw.password(16),
        ),
        case(
            "js fallback",
            "conf.mjs",
            "export const secret = process.env.JWT_SECRET || '§';\n",
            draw.alnum(36),
        ),
        case(
            "yaml list",
            "tasks.yml",
            "- uri:\n    url_username: ci\n    url_password: '§'\n",
            draw.password(15),
        ),
        case(
            "compose of list",
            "compose.yaml",
            "    environment:\n      - MYSQL_ROOT_PASSWORD=§\n",
            draw.alnum(20),
        ),
        case(
            "putty key",
            "id.ppk",
            "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\n§\n",
            draw.base64(48),
        ),
        case(
            "ssh key in yaml",
            "cloud.yml",
            "ssh_keys:\n  rsa_private: |\n§\n",
            format!(
                "    -----BEGIN RSA {0} KEY-----\n    MIIE{1}\n    {2}\n    -----END RSA {0} KEY-----",
                "PRIVATE",
                draw.base64(60),
                draw.base64(64)
            ),
        ),
        case(
            "ssh key in go",
            "key_test.go",
            "var key = []byte(\n§)\n",
            format!(
                "\"-----BEGIN EC {0} KEY-----\\n\" +\n\"MHcC{1}\\n\" +\n\"{2}\\n\" +\n\"-----END EC {0} KEY-----\"",
                "PRIVATE",
                draw.base64(60),
                draw.base64(64)
            ),
        ),
        case("git config", ".git-credentials", "https://ci:§@git.acme.dev\n", draw.url(26)),
        case(
            "rabbitmq address",
            "celery.py",
            "broker_url = 'amqps://app:§@mq.acme.dev:5671/shop'\n",
            draw.alnum(20),
        ),
        case(
            "github output",
            "deploy.txt",
            "##[command]/usr/bin/git -c http.extraheader=\"AUTHORIZATION: basic §\"\n",
            format!("eC1hY2Nlc3MtdG9rZW46{}", draw.base64(54)),
        ),
        case(
            "api key header",
            "insomnia.yaml",
            "headers:\n  - name: X-API-Key\n    value: §\n",
            draw.alnum(32),
        ),
    ]
}

/// What only looks like one.
pub(super) fn alike(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::alike;
    vec![
        case(
            "helm lookup",
            "secret.tpl",
            "password: {{ randAlphaNum 24 | b64enc }}\ntoken: {{ include \"x.token2\" . }}\n",
        ),
        case(
            "sealed reference",
            "eso.yaml",
            "  data:\n    - secretKey: api-token-2\n      remoteRef:\n        key: prod/payment/token-v3\n",
        ),
        case("vault path", "vault.hcl", "token_path = \"secret/data/prod/db-password-1\"\n"),
        case(
            "aws arn of a secret",
            "ecs.json",
            &format!(
                "{{\"name\": \"DB_PASSWORD\", \"valueFrom\": \"arn:aws:secretsmanager:eu-west-1:{}:secret:prod/db-{}\"}}\n",
                draw.digits(12),
                draw.alnum(6)
            ),
        ),
        case("ssm parameter", "ssm.yaml", "Password: '{{resolve:ssm-secure:prod-db-password:1}}'\n"),
        case("cloudformation", "cf.yaml", "MasterUserPassword: !Ref DbPassword1\nToken: !Sub ${Token2}\n"),
        case(
            "git blame",
            "blame.txt",
            &format!("{} (Ann 2026-01-01) token = next()\n^{} (Bob) password\n", draw.hex(40), draw.hex(39)),
        ),
        case(
            "nix hash",
            "default.nix",
            &format!(
                "  src = fetchurl {{ sha256 = \"{}\"; }};\n  key = \"x\";\n",
                draw.of("0123456789abcdfghijklmnpqrsvwxyz", 52)
            ),
        ),
        case(
            "bazel",
            "WORKSPACE",
            &format!("http_archive(name = \"token_lib\", sha256 = \"{}\")\n", draw.hex(64)),
        ),
        case(
            "pip hash",
            "requirements.txt",
            &format!("pyjwt==2.9.0 \\\n    --hash=sha256:{}\n", draw.hex(64)),
        ),
        case(
            "composer lock",
            "composer.lock",
            &format!("\"content-hash\": \"{}\",\n\"reference\": \"{}\",\n", draw.hex(32), draw.hex(40)),
        ),
        case(
            "pnpm lock",
            "pnpm-lock.yaml",
            &format!("  token-types@6.0.0:\n    resolution: {{integrity: sha512-{}==}}\n", draw.base64(86)),
        ),
        case(
            "deno lock",
            "deno.lock",
            &format!("\"jsr:@std/auth-token@1\": {{\"integrity\": \"{}\"}}\n", draw.hex(64)),
        ),
        case("docker id", "ps.txt", &format!("{}   api-token-service:2.1   \"/bin/sh\"\n", draw.hex(12))),
        case(
            "cache key",
            "cache.ts",
            &format!(
                "const cacheKey = \"users:{}:v2\";\nconst sortKey = \"created_at_2\";\n",
                draw.digits(6)
            ),
        ),
        case(
            "i18n keys",
            "i18n.ts",
            "t('auth.password.errors.tooShort8'); t(\"token.expired.v2\", { key: 'auth-token-expired-24h' });\n",
        ),
        case(
            "graphql",
            "schema.graphql",
            "type Mutation {\n  login(password: String!, token: ID2): AuthToken!\n}\n",
        ),
        case(
            "protobuf",
            "auth.proto",
            "message Login {\n  string password = 1;\n  bytes token = 2;\n  string api_key = 15;\n}\n",
        ),
        case(
            "sql columns",
            "schema.sql",
            "password VARCHAR(255) NOT NULL,\ntoken CHAR(64),\napi_key_v2 TEXT DEFAULT 'none1'\n",
        ),
        case(
            "openapi",
            "openapi.yaml",
            "    password:\n      type: string\n      format: password\n      minLength: 8\n    token: {type: string, example: abc123}\n",
        ),
        case(
            "java getters",
            "User.java",
            "this.password = passwordEncoder.encode(password1);\nString token = jwtUtil2.generateToken(user);\n",
        ),
        case(
            "rust code",
            "auth.rs",
            "let token = self.tokens[0].text2;\nlet secret = Secret::<u8>::new32();\nlet password = args.password2.clone();\n",
        ),
        case(
            "go code",
            "auth.go",
            "token, err := parser.Parse2(raw)\npassword := r.FormValue(\"password2\")\napiKey = cfg.ApiKeyV2\n",
        ),
        case(
            "swift code",
            "Auth.swift",
            "let token = try await session.token2\nvar password: String { didSet { validate8() } }\n",
        ),
        case(
            "kotlin code",
            "Auth.kt",
            "val token = prefs.getString(\"auth_token_v1\", null)\nval password = binding.password2.text.toString()\n",
        ),
        case(
            "bash code",
            "auth.sh",
            "TOKEN=$(vault read -field=token secret/ci2)\nread -rsp 'Password 1: ' PASSWORD\nAPI_KEY=`cat key1`\n",
        ),
        case("css tokens", "tokens.css", "--token-color-primary-500: #1a2b3c;\n--secret-offset: 12px;\n"),
        case(
            "design tokens",
            "tokens.json",
            "{\"token\": \"color.brand.500\", \"secret\": \"spacing-4x2\", \"key\": \"size.h1\"}\n",
        ),
        case(
            "parser tokens",
            "lexer.py",
            "token = Token(TokenType.STRING2, 'a1b2')\nTOKEN_RE2 = r'[A-Za-z0-9_]+'\n",
        ),
        case(
            "feature names",
            "features.yml",
            "secret-santa-2024: true\npassword-less-login-v2: false\ntoken: token-bucket-v2\n",
        ),
        case(
            "urls",
            "links.md",
            "https://docs.acme.dev/auth/api-token-v2#create-a-token-2024\nhttps://x.dev/?utm_source=a1b2c3d4&token=\n",
        ),
        case(
            "email",
            "mail.txt",
            "To: token.support2@acme.dev\nSubject: password reset 2026\nMessage-ID: <CAF7x2Qk9LmPq4sTv8W@mail.acme.dev>\n",
        ),
        case(
            "base64 text",
            "cert.yaml",
            &format!("ca.crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{}\n", draw.base64(400)),
        ),
        case("wasm", "mod.js", &format!("const wasm = \"AGFzbQEAAAAB{}\";\n", draw.base64(700))),
        case(
            "protobuf text",
            "gen.go",
            &format!("var desc = []byte{{{}}}\n", "0x1f, 0x8b, 0x08, 0x00, ".repeat(30)),
        ),
        case(
            "test uuid",
            "spec.rb",
            &format!("let(:id) {{ '{}' }}\nexpect(token_id).to eq('{}')\n", draw.uuid(), draw.uuid()),
        ),
        case(
            "google analytics",
            "ga.html",
            &format!("gtag('config', 'G-{}'); // UA-{}-1\n", draw.base32(10), draw.digits(8)),
        ),
        case(
            "recaptcha-like site key",
            "form.tsx",
            "<Captcha siteKey={SITE_KEY_V2} publicKey=\"pk-site-1\" />\n",
        ),
        case(
            "license text",
            "LICENSE",
            "Permission is hereby granted: token, password, secret = all of them, free of charge.\n",
        ),
        case(
            "placeholder in xml",
            "web.xml",
            "<password>${db.password1}</password>\n<token>INSERT_TOKEN_HERE_1</token>\n<secret>****1</secret>\n",
        ),
        case(
            "placeholder in address",
            "readme.md",
            "mongodb+srv://<user>:<password1>@cluster0.mongodb.net\nhttps://username:password123@host.example.com/\n",
        ),
        case(
            "masked",
            "mask.log",
            "Authorization: Bearer abcd****************wxyz\npassword=********1 token=<hidden2>\n",
        ),
    ]
}
