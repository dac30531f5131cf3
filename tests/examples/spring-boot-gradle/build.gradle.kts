plugins {
    id("org.springframework.boot") version "3.5.0"
}
java { toolchain { languageVersion = JavaLanguageVersion.of(21) } }
