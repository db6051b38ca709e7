//! Keys that are files, and credentials that only their names show.

use super::{Draw, SecretCase};

pub(super) fn keys(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::real;
    let pem = |name: &str, head: &str, body: String| {
        format!("-----BEGIN {name} KEY-----\n{head}{body}\n-----END {name} KEY-----")
    };
    vec![
        case(
            "rsa private key",
            "certs/server.key",
            "§\n",
            pem("RSA PRIVATE", "", format!("MIIE{}\n{}", draw.base64(60), draw.lines(20))),
        ),
        case(
            "pkcs8 private key",
            "certs/bundle.pem",
            "subject=CN = shop\n§\n",
            pem("PRIVATE", "", format!("MIIE{}\n{}", draw.base64(60), draw.lines(20))),
        ),
        case(
            "openssh private key",
            "ansible/deploy_key",
            "§\n",
            pem("OPENSSH PRIVATE", "", format!("b3BlbnNzaC1rZXktdjEA{}\n{}", draw.base64(44), draw.lines(5))),
        ),
        case(
            "ec private key",
            "jwt.test.ts",
            "const key = `§`;\n",
            pem("EC PRIVATE", "", format!("MHcCAQEE{}\n{}", draw.base64(56), draw.lines(2))),
        ),
        case(
            "encrypted private key",
            "vpn/client.ovpn",
            "client\ndev tun\n<key>\n§\n</key>\n",
            pem("RSA PRIVATE", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123\n\n", draw.lines(14)),
        ),
        case(
            "pgp private key",
            "release/signing.asc",
            "§\n",
            format!(
                "-----BEGIN PGP {0} BLOCK-----\n\nlQVYBGW{1}\n{2}\n={3}\n-----END PGP {0} BLOCK-----",
                "PRIVATE KEY",
                draw.base64(57),
                draw.lines(16),
                draw.base64(4)
            ),
        ),
        case(
            "age key",
            "keys.txt",
            "# created: 2026-01-01T00:00:00Z\n# public key: age1abc\n§\n",
            format!(
                "{}{}",
                "AGE-SECRET-KEY-1",
                draw.of(&["QPZRY9X8GF2TVDW0", "S3JN54KHCE6MUA7L"].concat(), 58)
            ),
        ),
        case(
            "kubeconfig key",
            "kube/config",
            "users:\n- name: admin\n  user:\n    client-key-data: §\n",
            format!("{}{}=", "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQp", draw.base64(600)),
        ),
        case(
            "kubeconfig token",
            "kube/ci.yaml",
            "users:\n- name: ci\n  user:\n    token: §\n",
            draw.alnum(48),
        ),
    ]
}

pub(super) fn settings(draw: &mut Draw) -> Vec<SecretCase> {
    let case = SecretCase::real;
    vec![
        case(
            "password in .env",
            ".env.production",
            "DB_HOST=db.internal\nDB_PASSWORD=§\nDB_NAME=shop\n",
            draw.password(16),
        ),
        case("chosen password in .env", "deploy/.env", "SMTP_HOST=mail\nSMTP_PASS=§\n", draw.chosen()),
        case(
            "password in yaml",
            "application.yml",
            "spring:\n  datasource:\n    username: app\n    password: §\n",
            draw.password(18),
        ),
        case(
            "quoted password in yaml",
            "group_vars/all.yml",
            "mysql_root_password: \"§\"\nmysql_port: 3306\n",
            draw.chosen(),
        ),
        case(
            "password in ini",
            "odoo.conf",
            "[options]\nadmin_user = odoo\nadmin_passwd = §\n",
            draw.password(20),
        ),
        case(
            "password in toml",
            "settings.toml",
            "[database]\nuser = \"app\"\npassword = \"§\"\n",
            draw.password(14),
        ),
        case(
            "password in json",
            "config.json",
            "{\n  \"user\": \"app\",\n  \"password\": \"§\"\n}\n",
            draw.password(15),
        ),
        case(
            "password in code",
            "db.go",
            "cfg := mysql.Config{\n\tUser:   \"app\",\n\tPasswd: \"§\",\n}\n",
            draw.password(18),
        ),
        case(
            "password in properties",
            "gradle.properties",
            "org.gradle.daemon=true\nstorePassword=§\n",
            draw.password(16),
        ),
        case(
            "generic key in javascript",
            "src/config.js",
            "module.exports = {\n  sessionSecret: '§',\n  port: 8080,\n};\n",
            draw.alnum(40),
        ),
        case("generic key in rust", "src/key.rs", "pub const API_KEY: &str = \"§\";\n", draw.alnum(32)),
        case(
            "key of a variable that may be set",
            "src/settings.py",
            "SECRET = os.environ.get(\"APP_SECRET_KEY\", \"§\")\n",
            draw.alnum(50),
        ),
        case(
            "key in a Dockerfile",
            "Dockerfile",
            "FROM node:22\nENV API_TOKEN §\nRUN npm ci\n",
            draw.alnum(40),
        ),
        case(
            "key in xml",
            "app.config",
            "<appSettings>\n  <add key=\"PaymentApiKey\" value=\"§\" />\n</appSettings>\n",
            draw.alnum(32),
        ),
        case(
            "kubernetes variable",
            "k8s/deploy.yaml",
            "        env:\n        - name: PAYMENT_API_KEY\n          value: \"§\"\n",
            draw.alnum(40),
        ),
        case(
            "bearer",
            "docs/api.md",
            "```\ncurl -H \"Authorization: Bearer §\" https://api.acme.dev/v1/me\n```\n",
            draw.alnum(40),
        ),
        case(
            "basic auth header",
            "requests.http",
            "GET https://api.acme.dev/v1\nAuthorization: Basic §\n",
            basic(&draw.password(16)),
        ),
        case(
            "basic auth of curl",
            "backup.sh",
            "curl -sS -u 'backup:§' https://files.acme.dev/nightly -o nightly.tgz\n",
            draw.password(16),
        ),
        case(
            "basic auth in an address",
            "pip.conf",
            "[global]\nindex-url = https://reader:§@pypi.acme.dev/simple\n",
            draw.alnum(24),
        ),
        case(
            "database address",
            "config/database.yml",
            "production:\n  url: postgres://shop:§@db.acme.dev:5432/shop\n",
            draw.alnum(18),
        ),
        case(
            "mongodb address",
            "src/db.ts",
            "await connect(\"mongodb+srv://shop:§@cluster0.acme.mongodb.net/shop\");\n",
            draw.alnum(16),
        ),
        case("netrc", ".netrc", "machine api.acme.dev login robot password §\n", draw.password(18)),
        case(
            "docker login",
            "docker/config.json",
            "{\"auths\": {\"registry.acme.dev\": {\"auth\": \"§\"}}}\n",
            basic(&draw.password(20)),
        ),
        case("redis password", "redis.conf", "bind 127.0.0.1\nrequirepass §\n", draw.password(20)),
    ]
}

/// `robot:password` in base64.
fn basic(password: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let plain = format!("robot:{password}");
    let mut out = String::new();
    for part in plain.as_bytes().chunks(3) {
        let all = part.iter().fold(0_u32, |all, &byte| all << 8 | u32::from(byte)) << (8 * (3 - part.len()));
        for at in 0..4 {
            let letter = char::from(LETTERS[(all >> (18 - 6 * at) & 63) as usize]);
            out.push(if at <= part.len() { letter } else { '=' });
        }
    }
    out
}
