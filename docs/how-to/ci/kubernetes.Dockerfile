# docker build -f kubernetes.Dockerfile -t registry.example.com/recode:1 .
FROM python:3.12
WORKDIR /work
COPY requirements-recode.txt .
RUN pip install --no-cache-dir -r requirements-recode.txt
COPY tasks tasks
